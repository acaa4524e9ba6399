// The server of tests/bench/remote_bench.mjs in a process of its own, so that the two do not share a thread.
import { deepseekSet } from '../support/deepseek_set.mjs';
import { startHub } from '../support/hub_server.mjs';

const hub = await startHub({ latencyMs: Number(process.argv[2]) });
const { files, headerBytes, tensors } = deepseekSet();
hub.addRepo('deepseek-ai/DeepSeek-V3', files);
process.on('message', (ask) => {
  if (ask === 'forget') hub.forget();
  process.send({ counts: hub.counts(), shards: hub.counts('-of-'), mostInFlight: hub.mostInFlight });
});
process.send({ url: hub.url, cdnUrl: hub.cdnUrl, headerBytes, tensors });
