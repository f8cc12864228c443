"""Runs the shell steps of a composite action as GitHub does: inputs with defaults, outputs of steps, environment, bash
-e.

    run_action.py ACTION_FOLDER [INPUT=VALUE...]

Prints what the steps print, then each output of the action as `output NAME=VALUE`. Exits with the code of the first
step that fails. What it does not know of a workflow (another expression, `if`, `uses`) is an error, never left out.
"""
import os
import re
import subprocess
import sys
import tempfile

import yaml

folder, given = os.path.abspath(sys.argv[1]), dict(one.split("=", 1) for one in sys.argv[2:])
with open(os.path.join(folder, "action.yml"), encoding="utf-8") as file:
    action = yaml.safe_load(file)
declared = action["inputs"]
if unknown := set(given) - set(declared):
    sys.exit(f"the action has no input {unknown}")
inputs = {}
for name, one in declared.items():
    if not one.get("description") or not set(one) <= {"description", "default", "required"}:
        sys.exit(f"input {name}: {one}")
    if name not in given and one.get("required"):
        sys.exit(f"input {name} is required")
    inputs[name] = given.get(name, one.get("default", ""))
    if not isinstance(inputs[name], str):
        sys.exit(f"input {name}: its default is no text: GitHub would take {inputs[name]!r}")
outputs, used = {}, set()


def value_of(expression):
    parts = expression.split(".")
    if parts[0] == "inputs" and len(parts) == 2:
        used.add(parts[1])
        return inputs[parts[1]]
    if parts[0] == "steps" and parts[2] == "outputs" and len(parts) == 4:
        return outputs.get(parts[1], {}).get(parts[3], "")
    sys.exit(f"unknown expression {expression}")


def filled(text):
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: value_of(match[1]), text)


if action["runs"]["using"] != "composite":
    sys.exit("no composite action")
failed = 0
with tempfile.TemporaryDirectory() as scratch:
    for step in action["runs"]["steps"]:
        if not set(step) <= {"name", "id", "shell", "env", "run"} or step["shell"] != "bash":
            sys.exit(f"unknown step {step}")
        if "${{" in step["run"]:
            sys.exit("an input in the text of a step runs as code; pass it in env")
        environment = {name: filled(value) for name, value in step.get("env", {}).items()}
        written = os.path.join(scratch, "output")
        open(written, "w", encoding="utf-8").close()
        environment = {**os.environ, **environment, "GITHUB_ACTION_PATH": folder, "GITHUB_OUTPUT": written}
        failed = failed or subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env=environment,
            check=False).returncode
        with open(written, encoding="utf-8") as file:
            outputs.setdefault(step["id"], {}).update(line.rstrip("\n").split("=", 1) for line in file)
        if failed:
            break
for name, one in action["outputs"].items():
    print(f"output {name}={filled(one['value'])}")
if not failed and used != set(declared):
    sys.exit(f"no step reads {set(declared) - used}")
sys.exit(failed)
