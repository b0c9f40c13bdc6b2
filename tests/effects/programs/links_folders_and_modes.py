"""What a program sees of its own changes: links, folders, modes and times."""

import os
import shutil
import stat


def said(name, act):
    try:
        print(name, act())
    except OSError as error:
        print(name, type(error).__name__, error.errno)


one, two = os.stat("one"), os.stat("two")
said("linked", lambda: (one.st_nlink, os.path.samefile("one", "two"), one.st_ino == two.st_ino, one.st_ino))
with open("one", "a") as file:
    file.write("more")
said("written", lambda: (open("two").read(), os.path.samefile("one", "two"), os.stat("one").st_ino == one.st_ino))
os.link("alone", "alone-too")
said("link", lambda: (os.path.samefile("alone", "alone-too"), os.stat("alone").st_nlink))
said("folder", lambda: (os.rename("folder", "renamed"), os.listdir("renamed/inner"), os.path.exists("folder")))
said("onto full", lambda: os.rename("renamed", "full"))
said("onto empty", lambda: (os.rename("renamed", "empty"), open("empty/inner/deep").read()))
said("onto file", lambda: os.rename("empty", "alone"))
said("into itself", lambda: os.rename("empty", "empty/inner/itself"))
said("again", lambda: (shutil.rmtree("gone"), os.mkdir("gone"), os.listdir("gone")))
said("up", lambda: (os.rename("full", os.path.join(os.environ["HOME"], "full")), os.listdir(os.environ["HOME"])))
said("mode", lambda: oct(os.stat("alone").st_mode))
said("times", lambda: os.stat("alone").st_mtime_ns)
said("owner", lambda: (os.stat(".").st_uid, os.stat("alone").st_uid, os.stat("one").st_gid))
said("this folder", lambda: oct(os.stat(".").st_mode))
said("devices", lambda: (stat.S_ISCHR(os.stat(os.devnull).st_mode), open(os.devnull, "w").write("x")))
said("shared", lambda: os.path.isdir("/dev/shm"))
said("terminal", lambda: len(os.openpty()))
