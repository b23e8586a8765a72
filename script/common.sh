# shellcheck shell=bash
# Shared by script/bench, script/test, script/pack and a pack's run script; sourced, never run.

die() { # code, message
  printf 'pdl: %s\n' "$2" >&2
  exit "$1"
}

need_cargo() {
  type -P cargo >/dev/null || die 1 "cannot build: no cargo on PATH; install Rust (see rust-version in Cargo.toml)"
}

# Turn `--nodes 50 --quick` into PDL_NODES=50 PDL_QUICK=1, because criterion owns the command line of
# a bench. What follows `--` is criterion's and is left in `criterion_args`.
# shellcheck disable=SC2034 # criterion_args is read by the callers
flags_to_env() {
  local flag name value
  criterion_args=()
  while (($#)); do
    flag=$1
    shift
    case $flag in
      --) criterion_args=("$@") && return ;;
      --quick | --dry-run | --no-gate | --no-conditioning) value=1 ;; # the flags that take no value
      --?*=*) value=${flag#*=} flag=${flag%%=*} ;;
      --[a-z]*)
        [[ $# -gt 0 && $1 != --* ]] || die 2 "cannot read the flags: $flag needs a value; see --help"
        value=$1
        shift
        ;;
      *) die 2 "cannot read the flags: unexpected argument '$flag'; see --help" ;;
    esac
    [[ $flag =~ ^--[a-z][a-z0-9-]*$ ]] || die 2 "cannot read the flags: '$flag' is no flag; see --help"
    name=${flag#--} name=${name//-/_}
    export "PDL_${name^^}=$value"
  done
}

# Why tests that need a GPU will skip on this machine; no output if they can run.
why_no_gpu() {
  local capabilities best
  type -P nvidia-smi >/dev/null || { echo "this machine has no NVIDIA driver (no nvidia-smi)"; return; }
  capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>&1) ||
    { echo "nvidia-smi fails: ${capabilities%%$'\n'*}"; return; }
  best=$(sort -rV <<<"$capabilities" | head -n 1)
  [[ ${best%%.*} =~ ^[0-9]+$ ]] || { echo "nvidia-smi reports no GPU"; return; }
  ((${best%%.*} >= 9)) || echo "the best GPU here has compute capability $best, and dependent launch needs 9.0"
}
