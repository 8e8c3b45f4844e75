from transformers import LlamaConfig


class LlavaConfig(LlamaConfig):
    model_type = "llava_llama"
