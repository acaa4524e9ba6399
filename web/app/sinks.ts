// The ways in which this browser can write a converted file, and what each costs. The engine has the
// sinks themselves; here they are offered.
import { MEMORY_SINK_BYTES_MAX } from '../engine/sink';
import { formatDecimal } from '../engine/units';

export type SinkKind = 'directory' | 'opfs' | 'picker' | 'memory';

export interface Capabilities {
  /** origin-private files: every current browser, but not all private windows */
  opfs: boolean;
  /** the save picker: Chromium */
  picker: boolean;
  /** the folder picker: Chromium */
  directory: boolean;
}

export const NOTHING: Capabilities = { opfs: false, picker: false, directory: false };

export interface SinkOffer {
  kind: SinkKind;
  title: string;
  says: string;
  /** free disk space it takes at its highest */
  disk_bytes: number;
}

export async function capabilities(): Promise<Capabilities> {
  return {
    opfs: await hasPrivateFiles(),
    picker: typeof window.showSaveFilePicker === 'function',
    directory: typeof window.showDirectoryPicker === 'function',
  };
}

async function hasPrivateFiles(): Promise<boolean> {
  try {
    await navigator.storage.getDirectory();
    return true;
  } catch {
    return false;
  }
}

/** The best first; empty when there is no way at all. A set stays one where a folder can be written. */
export function sinkOffers(able: Capabilities, outputBytes: number, isSet = false): SinkOffer[] {
  const { opfs, picker, directory } = able;
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
  return offers;
}
