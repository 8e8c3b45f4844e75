"""The harness side: tasks of lmms-eval, how they ask and how they read what comes back."""
