from llava.model.language_model.llava_llama import LlavaConfig
from llava.model.language_model.llava_qwen import LlavaQwenConfig, LlavaQwenForCausalLM

__all__ = ["LlavaConfig", "LlavaQwenConfig", "LlavaQwenForCausalLM"]
