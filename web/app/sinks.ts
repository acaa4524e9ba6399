// The ways in which this browser can write a converted file, and what each costs. The engine has the
// sinks themselves; here they are offered.
import type { EngineClient } from '../engine/client';
import { MEMORY_SINK_BYTES_MAX } from '../engine/sink';
import { formatDecimal } from '../engine/units';
import { feedsDownloads } from './service_worker';

export type SinkKind = 'directory' | 'opfs' | 'picker' | 'download' | 'memory';

export interface Capabilities {
  /** origin-private files, with room for the output: every current browser, but not all private windows */
  opfs: boolean;
  /** the save picker: Chromium */
  picker: boolean;
  /** the folder picker: Chromium */
  directory: boolean;
  /** a download that the service worker feeds */
  download: boolean;
}

export const NOTHING: Capabilities = { opfs: false, picker: false, directory: false, download: false };

export interface SinkOffer {
  kind: SinkKind;
  title: string;
  says: string;
  /** free disk space it takes at its highest */
  disk_bytes: number;
}

export async function capabilities(client: EngineClient, outputBytes: number): Promise<Capabilities> {
  const [opfs, download] = await Promise.all([client.room(outputBytes), feedsDownloads()]);
  return {
    opfs,
    picker: typeof window.showSaveFilePicker === 'function',
    directory: typeof window.showDirectoryPicker === 'function',
    download,
  };
}

/** A pipeline is a folder of folders: nothing else can hold it. */
export function pipelineOffers({ directory }: Capabilities, outputBytes: number): SinkOffer[] {
  if (!directory) return [];
  const title = 'A folder, with all components';
  const says =
    'A new folder where you choose, laid out as it is now, with model_index.json and the small files of every component. At the end of each file the browser checks it, which takes time for a big one.';
  return [{ kind: 'directory', title, says, disk_bytes: outputBytes }];
}

/** The best first; empty when there is no way at all. A set stays one where a folder can be written. */
export function sinkOffers(able: Capabilities, outputBytes: number, isSet = false): SinkOffer[] {
  const { opfs, picker, directory, download } = able;
  const folder: SinkOffer = {
    kind: 'directory',
    title: isSet ? 'A folder, in several files' : 'A folder, with its config',
    says: 'A new folder where you choose, with index, config and tokenizer files beside the tensors. At the end of each file the browser checks it, which takes time for a big one.',
    disk_bytes: outputBytes,
  };
  const offers: SinkOffer[] = directory && isSet ? [folder] : [];
  if (opfs) {
    offers.push({
      kind: 'opfs',
      title: 'Save to the downloads folder',
      says: `Fastest. Written to a working copy inside the browser, then saved as a download: ${formatDecimal(outputBytes)} twice, until you delete the working copy.`,
      disk_bytes: 2 * outputBytes,
    });
  }
  if (picker) {
    offers.push({
      kind: 'picker',
      title: 'Choose where',
      says: 'Written straight to the place you choose. At the end the browser checks the whole file, which takes minutes for a big one.',
      disk_bytes: outputBytes,
    });
  }
  if (directory && !isSet) offers.push(folder);
  if (!opfs && outputBytes <= MEMORY_SINK_BYTES_MAX) {
    offers.push({
      kind: 'memory',
      title: 'Save to the downloads folder',
      says: `Held in memory first (${formatDecimal(outputBytes)}), because this browser offers nothing better here.`,
      disk_bytes: outputBytes,
    });
  }
  if (download && !picker) {
    offers.push({
      kind: 'download',
      title: opfs ? 'Straight to the downloads folder' : 'Save to the downloads folder',
      says: `${opfs ? 'Slower, but without a working copy. ' : ''}The browser takes the file as it is written; it can be checked only when you choose the saved file here. Keep this tab open until the browser has all of it.`,
      disk_bytes: outputBytes,
    });
  }
  return offers;
}
