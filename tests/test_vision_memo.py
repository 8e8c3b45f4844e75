"""Frames are encoded once, and what comes from memory is what the encoder would have given."""

import pytest
import torch
import transformers as t

from lmms_eval_tasks.vision_memo import VisionMemo, frames_encoded_once, vision_tower


class Siglip(torch.nn.Module):
    """A model with an encoder that sees frames one by one."""

    def __init__(self, layers=(-2,)):
        super().__init__()
        torch.manual_seed(0)
        size = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 3}
        self.vision_tower = t.SiglipVisionModel(t.SiglipVisionConfig(image_size=28, patch_size=14, **size)).eval()
        self.config = t.PretrainedConfig(vision_feature_layer=list(layers))

    def features(self, pixels):
        out = self.vision_tower(pixels, output_hidden_states=True)
        return torch.cat([out.hidden_states[i] for i in self.config.vision_feature_layer], -1)


class Qwen(torch.nn.Module):
    """A model with an encoder that sees frames in pairs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig
        from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel

        config = Qwen2_5_VLVisionConfig(
            depth=2, hidden_size=32, intermediate_size=64, num_heads=2, out_hidden_size=16, fullatt_block_indexes=[1]
        )
        self.visual = Qwen2_5_VisionTransformerPretrainedModel(config).eval()
        self.config = t.PretrainedConfig()

    def features(self, pixels):
        grid = torch.tensor([[len(pixels), 8, 8]])
        return self.visual(pixels.flatten(0, 1), grid_thw=grid).pooler_output


@pytest.mark.parametrize("make", [Siglip, lambda: Siglip((-1, 0)), Qwen])
def test_memory_gives_what_the_encoder_gives_and_runs_it_on_new_frames_only(make):
    model = make()
    shape = (3, 28, 28) if isinstance(model, Siglip) else (64, 3 * 2 * 14 * 14)
    torch.manual_seed(1)
    a, b, c, d = torch.randn(4, *shape)
    memo, calls = VisionMemo(), []
    tower = vision_tower(model)
    tower.register_forward_pre_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        for frames, new in (((a, b, c), 3), ((a, c, b), 0), ((d, d, a), 1), ((a, d, a), 0), ((a, d, a), 0)):
            pixels = torch.stack(frames)
            plain = model.features(pixels)
            before = memo.encoded
            with frames_encoded_once(model, memo):
                shared = model.features(pixels)
            assert torch.allclose(plain, shared, atol=1e-5) and plain.shape == shared.shape
            assert memo.encoded - before == new
        assert memo.repeated
        nearly = torch.stack((a, d, a))
        nearly[1].view(-1)[-1] += 1e-3
        with frames_encoded_once(model, memo):
            model.features(nearly)
    assert (memo.encoded, memo.spared) == (5, 13) and not memo.repeated
    memo.forget()
    with torch.no_grad(), frames_encoded_once(model, memo):
        model.features(torch.stack((a, b, c)))
    assert memo.encoded == 8


def test_frames_that_were_written_to_are_encoded_again():
    model, memo = Siglip(), VisionMemo()
    pixels = torch.randn(2, 3, 28, 28)
    with torch.no_grad(), frames_encoded_once(model, memo):
        first = model.features(pixels)
        pixels[1] += 1
        second = model.features(pixels)
    assert torch.equal(first[0], second[0]) and not torch.allclose(first[1], second[1])


def test_the_encoder_is_itself_again_afterwards():
    model = Siglip()
    with pytest.raises(RuntimeError), frames_encoded_once(model, VisionMemo()):
        raise RuntimeError
    assert "forward" not in vars(model.vision_tower)


def test_only_layers_that_are_read_are_kept():
    model, memo = Siglip((-2,)), VisionMemo()
    with torch.no_grad(), frames_encoded_once(model, memo):
        out = model.vision_tower(torch.randn(2, 3, 28, 28), output_hidden_states=True)
    assert [state is None for state in out.hidden_states] == [True, True, False, True]
