"""Every Python program that the pages show runs."""
import pathlib
import re

from kit import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)):
        def test(block=block, name=f"{page.name}:{number + 1}"):
            exec(compile(block, name, "exec"), {"__name__": "shown"})
        globals()[f"test_{page.stem.replace('-', '_')}_{number + 1}"] = test

main(globals())
