"""accelerate's own arithmetic on a model of the given config, on the meta device: accelerate_at.py CONFIG.JSON.

`accelerate estimate-memory` (commands/estimate.py, create_empty_model) takes names of the Hub only; this is what it
does after it has the config: AutoModel in float32 on the meta device, and the sizes of that.
"""
import json
import sys

import torch
from accelerate import init_empty_weights
from accelerate.utils import calculate_maximum_sizes
from transformers import AutoConfig, AutoModel

config = json.load(open(sys.argv[1]))
with init_empty_weights():
    model = AutoModel.from_config(AutoConfig.for_model(**config), torch_dtype=torch.float32)
total, (largest, _) = calculate_maximum_sizes(model)
print(json.dumps({"float32": total, "float16": total / 2, "int8": total / 4, "largest_layer": largest}))
