"""Files that are made, written, moved, copied, linked and read again."""

import glob
import os
import pathlib
import shutil
import tempfile

home = pathlib.Path(os.environ["HOME"])
os.makedirs("logs/old", exist_ok=True)
for line in ("one", "two"):
    with open("logs/today", "a") as log:
        log.write(line + "\n")
print(pathlib.Path("logs/today").read_text(), os.stat("logs/today").st_size, os.path.getsize("state"))
os.replace("logs/today", "logs/old/yesterday")
print(sorted(glob.glob("logs/**", recursive=True)), [sorted(each[1:]) for each in os.walk("logs")])
with open("state", "r+") as state:
    print(state.name, state.read())
    state.seek(0)
    state.write("new")
print(open("state").read(), os.path.exists("state"), os.access("state", os.R_OK), (home / "diary").read_text())
(home / "diary").unlink()
print((home / "diary").exists(), os.listdir(home))
os.rename("folder", "moved")
print(sorted(os.listdir("moved")), open("moved/deep/file").read(), os.path.isdir("folder"))
shutil.copytree("moved", "copied")
shutil.rmtree("moved")
print(sorted(os.listdir(".")), os.path.exists("moved"))
os.symlink("copied/deep", "link")
os.chdir("link")
print(os.path.relpath(os.getcwd(), home), open("file").read(), os.path.relpath(os.path.abspath("file"), home))
pathlib.Path("new").write_text("x")
os.chdir("../..")
with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as made:
    made.write("whole")
os.replace(made.name, "state")
print(open("state").read(), os.listdir("copied/deep"))
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "a").write_text("a")
    shutil.move(os.path.join(folder, "a"), "from-temporary")
print(open("from-temporary").read())
pathlib.Path("plugin.py").write_text("VALUE = 7")
import plugin

print(plugin.VALUE)
try:
    open("moved/none", "w")
except FileNotFoundError as error:
    print(error)
