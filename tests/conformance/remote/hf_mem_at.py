"""hf-mem with another address for the Hub: it has none to be told, so every request is turned to another one.

    hf_mem_at.py ENDPOINT OWNER/REPO      prints its JSON
"""
import sys

import httpx2

endpoint, repo = sys.argv[1:]
original = httpx2.AsyncClient.build_request


def build_request(self, method, url, **kwargs):
    return original(self, method, str(url).replace("https://huggingface.co", endpoint), **kwargs)


httpx2.AsyncClient.build_request = build_request
sys.argv = ["hf-mem", "--model-id", repo, "--json-output"]
from hf_mem.cli import main  # noqa: E402

main()
