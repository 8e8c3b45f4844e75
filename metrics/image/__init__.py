"""Numbers of the image benchmark: does abstention follow the evidence or the user?"""
