"""Writes a C program that calls every public function with NULL for each of its pointer arguments in turn.

Reads the preprocessed public headers on standard input; prints C. main.h (the argument) has the objects that stand in for the arguments
that are not NULL, by type; the program in main.c judges what comes back.
"""
import re
import sys

# Functions that cannot be called like this, and why.
LEFT_OUT = {
    "tn_worker_main": "takes the process over",
    "tn_plugin_init": "a plug-in has it, not the library",
}
PROTOTYPE = re.compile(r"([a-zA-Z_][\w\s]*?[\s*]+)(tn_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*$")


def prototypes(text):
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    for statement in re.split(r"[;{}]", re.sub(r"^#.*$", "", text, flags=re.M)):
        match = PROTOTYPE.search(" ".join(statement.split()))
        if match and not statement.lstrip().startswith("typedef"):
            result, name, arguments = (part.strip() for part in match.groups())
            yield result, name, split(arguments)


def split(arguments):
    parts = re.split(r",(?![^()]*\))", arguments)
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def type_of(argument):
    if "(*" in argument:
        return re.sub(r"\(\*\w*\)", "(*)", argument)
    return re.sub(r"\b\w+$", "", argument).strip()


def is_pointer(kind):
    return "*" in kind or kind.endswith("_fn")


def value_of(kind):
    """An expression of this type that is not NULL."""
    plain = kind.replace("const", "").replace(" ", "")
    if "(*)" in kind or kind.endswith("_fn"):
        return "NULL"
    if plain == "char*":
        return '"x"'
    if plain.endswith("*"):
        return f"null_object_{plain[:-1]}()" if plain[:-1] in OBJECTS else "null_zeros()"
    if plain.startswith("tn_") or plain.startswith("DL"):
        return f"({plain}){{0}}"
    return "1"


OBJECTS = set(re.findall(r"^  X\((\w+)\)", open(sys.argv[1]).read(), flags=re.M))
# Objects that know their context: where the first pointer of a call is one, a failure has a place for its message.
BEARERS = {"tn_context", "tn_program", "tn_schedule", "tn_tensor", "tn_axis", "tn_expr", "tn_combiner"}
cases = []
for result, name, arguments in prototypes(sys.stdin.read()):
    kinds = [type_of(argument) for argument in arguments]
    pointers = [i for i, kind in enumerate(kinds) if is_pointer(kind)]
    if name in LEFT_OUT or "..." in arguments or not pointers:
        continue
    for at in [None, *pointers, "all"] if len(pointers) > 1 else [None, *pointers]:
        values = ["NULL" if i == at or (at == "all" and i in pointers) else value_of(kind)
                  for i, kind in enumerate(kinds)]
        first = values[pointers[0]]
        has_context = any(first == f"null_object_{bearer}()" for bearer in BEARERS)
        call = f"{name}({', '.join(values)})"
        what = "valid" if at is None else "all" if at == "all" else arguments[at].split()[-1].lstrip("*")
        failed = (f"{call} != TN_OK" if result == "tn_status" else f"{call} == NULL" if "*" in result
                  else f"({call}, false)")
        cases.append((name, what, has_context, failed))

print('#include "main.h"\n')
for i, (name, what, has_context, failed) in enumerate(cases):
    print(f"static bool call_{i}(void) {{ return {failed}; }}")
print("\nconst null_case null_cases[] = {")
for i, (name, what, has_context, failed) in enumerate(cases):
    print(f'    {{"{name}", "{what}", {str(has_context).lower()}, call_{i}}},')
print("    {NULL, NULL, false, NULL}};")
