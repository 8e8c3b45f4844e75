#!/usr/bin/env bash
# Every table and figure of the video paper for one model: the whole group through lmms-eval, then the report.
#
#   scripts/reproduce_paper.sh MODEL MODEL_ARGS [OUT]
#
#   scripts/reproduce_paper.sh qwen2_5_vl pretrained=Qwen/Qwen2.5-VL-7B-Instruct,max_num_frames=64
#   scripts/reproduce_paper.sh scripted_observer reading=0.9,deference=0.5,confidence=0.8
#
# CAVED_RELEASE names the release: all six budgets and the reversal part are needed (caved build video --paper).
# Without it a procedural one is built in OUT/release, with PROBES probes (64) and frames of CANVAS pixels (448).
# The same command goes on where an interrupted one stopped. LMMS_EVAL_ARGS adds arguments, such as "--batch_size 1".
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
model=$1
model_args=$2
out=${3:-paper_output/$model}

for command in caved lmms-eval; do
    if ! command -v "$command" >/dev/null; then
        echo "reproduce_paper: $command is not on the path: activate the environment (source .venv/bin/activate)" >&2
        exit 1
    fi
done
mkdir -p "$out"
if [ -z "${CAVED_RELEASE:-}" ]; then
    caved build video --paper --probes "${PROBES:-64}" --canvas "${CANVAS:-448}" --seed 0 --out "$out/release"
    CAVED_RELEASE=$(cd "$out/release" && pwd)
    export CAVED_RELEASE
fi

logs=$out/logs
mkdir -p "$logs"
before=$(find "$logs" -name '*_results.json' | wc -l)
# shellcheck disable=SC2086
lmms-eval --tasks caved_or_convinced_paper,caved_or_convinced_reversal_adaptive \
    --model "$model" --model_args "$model_args" --log_samples --output_path "$logs" ${LMMS_EVAL_ARGS:-}
after=$(find "$logs" -name '*_results.json' | wc -l)
if [ "$after" -le "$before" ]; then
    echo "reproduce_paper: lmms-eval wrote no results file under $logs: look for its error above" >&2
    exit 1
fi
caved report "$logs" --out "$out/report" --published
