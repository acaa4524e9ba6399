// The whole page takes dropped (and pasted) files, so that nobody has to aim.
import { useEffect, useState } from 'react';
import type { GivenFile } from '../../engine/protocol';
import { filesOfDrop, givenFiles } from '../dropped_files';

/** Returns whether files hover over the page now. */
export function usePageDrop(onFiles: (files: GivenFile[]) => void, onFault: (thrown: unknown) => void): boolean {
  const [over, setOver] = useState(false);

  useEffect(() => {
    const onDrag = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    // relatedTarget is null only when the pointer leaves the window
    const onLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      setOver(false);
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      filesOfDrop(event.dataTransfer).then(onFiles, onFault);
    };
    const onPaste = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length > 0) onFiles(givenFiles(files));
    };
    const ending = new AbortController();
    const { signal } = ending;
    window.addEventListener('dragenter', onDrag, { signal });
    window.addEventListener('dragover', onDrag, { signal });
    window.addEventListener('dragleave', onLeave, { signal });
    window.addEventListener('drop', onDrop, { signal });
    window.addEventListener('paste', onPaste, { signal });
    return () => ending.abort();
  }, [onFiles, onFault]);

  return over;
}
