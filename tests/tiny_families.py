"""Tiny random checkpoints of the native families: real classes and processors, a byte-level vocabulary, no meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "initializer_range": 0.3,
}
VISION = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "initializer_range": 0.3}


def template(video: str, image: str) -> str:
    """A chat template: roles in brackets, one mark for each medium."""
    return (
        "{% for m in messages %}[{{ m['role'] }}]\n{% if m['content'] is string %}{{ m['content'] }}{% else %}"
        "{% for c in m['content'] %}{% if c['type'] == 'image' %}"
        + image
        + "\n{% elif c['type'] == 'video' %}"
        + video
        + "\n"
        "{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant]\n{% endif %}"
    )


def tokenizer(special: list[str], corpus: Sequence[str] = (), **named: str) -> t.PreTrainedTokenizerFast:
    """Bytes, and the special tokens of a family; trained on a corpus, if there is one."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    size = 2000 if corpus else 300
    bpe.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    extra = {"extra_special_tokens": named} if named else {}
    made = t.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|pad|>", **extra)
    made.add_tokens(["<|pad|>", "<|im_end|>", *special, *named.values()], special_tokens=True)
    return made


def qwen3_vl() -> tuple[torch.nn.Module, t.ProcessorMixin]:
    special = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    words = tokenizer(special)
    ids = dict(zip(special, words.convert_tokens_to_ids(special), strict=True))
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 1e6}
    config = t.Qwen3VLConfig(
        text_config={**TEXT, "vocab_size": len(words), "head_dim": 16, "rope_parameters": rope},
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 16, "out_hidden_size": 64,
            "num_position_embeddings": 256, "deepstack_visual_indexes": [0],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )  # fmt: skip
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    wrap = "<|vision_start|><|{}_pad|><|vision_end|>"
    processor = t.Qwen3VLProcessor(
        image_processor=t.Qwen2VLImageProcessor(patch_size=16, size={"shortest_edge": 65536, "longest_edge": 16777216}),
        tokenizer=words,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=template(wrap.format("video"), wrap.format("image")),
    )
    return t.Qwen3VLForConditionalGeneration(config), processor


def internvl() -> tuple[torch.nn.Module, t.ProcessorMixin]:
    from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor

    words = tokenizer(
        [],
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>",
        video_token="<video>",
    )
    size = {"height": 112, "width": 112}
    config = t.InternVLConfig(
        vision_config=t.InternVLVisionConfig(image_size=[112, 112], patch_size=[28, 28], num_hidden_layers=2, **VISION),
        text_config=t.Qwen2Config(vocab_size=len(words), **TEXT),
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    processor = t.InternVLProcessor(
        image_processor=t.GotOcr2ImageProcessor(size=size, crop_to_patches=False),
        tokenizer=words,
        video_processor=InternVLVideoProcessor(size=size),
        image_seq_length=4,
        chat_template=template("<video>", "<IMG_CONTEXT>"),
    )
    return t.InternVLForConditionalGeneration(config), processor


def llava_onevision(
    text: dict[str, int | float] = TEXT,
    vision: dict[str, int | float] = VISION,
    side: int = 112,
    patch: int = 28,
    corpus: Sequence[str] = (),
) -> tuple[torch.nn.Module, t.ProcessorMixin]:
    from transformers.models.llava_onevision.video_processing_llava_onevision import LlavaOnevisionVideoProcessor

    words = tokenizer(["<image>", "<video>"], corpus)
    pinpoints = [[side, side], [side, 2 * side], [2 * side, side]]
    config = t.LlavaOnevisionConfig(
        vision_config=t.SiglipVisionConfig(
            image_size=side, patch_size=patch, vision_use_head=False, **{"num_hidden_layers": 2, **vision}
        ),
        text_config=t.Qwen2Config(vocab_size=len(words), **text),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_grid_pinpoints=pinpoints,
    )
    processor = t.LlavaOnevisionProcessor(
        image_processor=t.LlavaOnevisionImageProcessor(
            size={"height": side, "width": side}, image_grid_pinpoints=pinpoints
        ),
        tokenizer=words,
        video_processor=LlavaOnevisionVideoProcessor(size={"height": side, "width": side}),
        num_image_tokens=(side // patch) ** 2,
        vision_feature_select_strategy="full",
        chat_template=template("<video>", "<image>"),
    )
    return t.LlavaOnevisionForConditionalGeneration(config), processor


def llava_next_video() -> tuple[torch.nn.Module, t.ProcessorMixin]:
    from transformers.models.llava_next_video.video_processing_llava_next_video import LlavaNextVideoVideoProcessor

    words = tokenizer(["<image>", "<video>"])
    pinpoints = [[112, 112], [112, 224], [224, 112]]
    crop = {"height": 112, "width": 112}
    config = t.LlavaNextVideoConfig(
        vision_config=t.CLIPVisionConfig(image_size=112, patch_size=28, num_hidden_layers=3, **VISION),
        text_config=t.LlamaConfig(vocab_size=len(words), **TEXT),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        video_token_index=words.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
    )
    processor = t.LlavaNextVideoProcessor(
        image_processor=t.LlavaNextImageProcessor(
            size={"shortest_edge": 112}, crop_size=crop, image_grid_pinpoints=pinpoints
        ),
        tokenizer=words,
        video_processor=LlavaNextVideoVideoProcessor(size={"shortest_edge": 112}, crop_size=crop),
        patch_size=28,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template("<video>", "<image>"),
    )
    return t.LlavaNextVideoForConditionalGeneration(config), processor


def molmo2() -> tuple[torch.nn.Module, t.ProcessorMixin]:
    from transformers.models.molmo2.image_processing_molmo2 import Molmo2ImageProcessor
    from transformers.models.molmo2.video_processing_molmo2 import Molmo2VideoProcessor

    special = [
        *("<|image|>", "<|video|>", "<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>"),
        *("<frame_start>", "<im_end>", "<frame_end>", "<im_low>", "<|im_start|>", "<|endoftext|>"),
    ]
    words = tokenizer(special)
    at = words.convert_tokens_to_ids
    small = {**TEXT, "head_dim": 16, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    heads = {
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "hidden_size": 32,
        "intermediate_size": 64,
    }
    config = t.Molmo2Config(
        text_config={**small, "vocab_size": len(words), "additional_vocab_size": 8},
        vision_config={"image_size": [84, 84], "patch_size": 14, "num_hidden_layers": 2, **heads},
        adapter_config={"vision_feature_layer": [-1, -2], "text_hidden_size": 64, **heads},
        image_start_token_id=at("<im_start>"),
        low_res_image_start_token_id=at("<low_res_im_start>"),
        image_end_token_id=at("<im_end>"),
        image_patch_id=at("<im_patch>"),
        frame_start_token_id=at("<frame_start>"),
        frame_end_token_id=at("<frame_end>"),
    )
    size = {"height": 84, "width": 84}
    processor = t.Molmo2Processor(
        image_processor=Molmo2ImageProcessor(size=size, overlap_margins=[1, 1]),
        tokenizer=words,
        video_processor=Molmo2VideoProcessor(
            size=size, do_rescale=True, do_normalize=True, rescale_factor=1 / 255, do_convert_rgb=True, do_resize=True
        ),
        chat_template=template("<|video|>", "<|image|>"),
    )
    return t.Molmo2ForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[[], tuple[torch.nn.Module, t.ProcessorMixin]]] = {
    "qwen3_vl": qwen3_vl,
    "internvl": internvl,
    "llava_onevision": llava_onevision,
    "llava_next_video": llava_next_video,
    "molmo2": molmo2,
}


def write_tiny(family: str, folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint of `family` to `folder`."""
    torch.manual_seed(seed)
    model, processor = FAMILIES[family]()
    with torch.no_grad():  # far from zero, so that small differences of the input survive bfloat16
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.3)
    model.eval().to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
