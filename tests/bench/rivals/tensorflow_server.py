"""One TensorFlow server, the only task of its cluster: prints its address and serves until standard input ends."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow.compat.v1 as tf  # noqa: E402

server = tf.distribute.Server.create_local_server()
print(server.target, flush=True)
sys.stdin.read()
os._exit(0)  # a server has no way to stop
