// hf:// and https:// on the command line: the settings around them, and what they lead to.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { CoreError } from '../engine/errors';
import { inputOf, layOutTree, strayNotes } from '../engine/file_tree';
import type { Core } from '../engine/heap';
import { HttpClient } from '../engine/http_client';
import type { Sha256 } from '../engine/http_hash';
import { checkedEndpoint, HUB_ENDPOINT } from '../engine/hub_address';
import { chooseRemote, findRemote, type RemoteOptions } from '../engine/remote_tree';
import type { RemoteWords } from './args';
import { readError } from './file_source';
import type { FoundInput } from './input';

export async function findOnServer(
  core: Core,
  paths: readonly string[],
  name?: string,
  words?: RemoteWords,
): Promise<FoundInput> {
  const [address = '', second] = paths;
  if (second !== undefined) throw new CoreError('bad_address', second, 'one address at a time');
  const options = await remoteOptions(words);
  const place = await findRemote(core, address, options);
  const layout = await layOutTree(core, place.tree);
  const choice = chooseRemote(layout, place, address, name);
  const notes = choice.id === layout.preferred ? strayNotes(layout) : [];
  const parts = choice.kind === 'pipeline' ? choice.components : [choice];
  return {
    choice,
    ignored: layout.ignored,
    // no path of this machine is an input
    parts: parts.map((part) => ({
      choice: part,
      open: async () => ({ ...(await inputOf(place.tree, part, notes)), paths: [] }),
    })),
    readCompanion: (file) => place.tree.read(file),
  };
}

/** The token is read, kept in memory and sent to the endpoint's own origin only. */
export async function remoteOptions(words?: RemoteWords): Promise<RemoteOptions> {
  const endpoint = checkedEndpoint(words?.endpoint || process.env.HF_ENDPOINT || HUB_ENDPOINT);
  const token = words?.tokenFile ? await tokenIn(words.tokenFile) : process.env.HF_TOKEN;
  const client = new HttpClient({ hubOrigin: new URL(endpoint).origin, token: token?.trim() || null });
  return { client, endpoint, makeSha256: nodeSha256 };
}

async function tokenIn(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw readError(path, thrown);
  }
}

function nodeSha256(): Sha256 {
  const hash = createHash('sha256');
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => hash.digest('hex'),
  };
}
