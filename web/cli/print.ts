// Standard output with back-pressure: a report of 500,000 tensors goes out page by page.

export type Print = (text: string | Uint8Array) => Promise<void>;

/** A reader that went away (`| head`) is no failure of ours. */
export function quietOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

export function printOut(text: string | Uint8Array): Promise<void> {
  if (process.stdout.write(text)) return Promise.resolve();
  return new Promise((resolve) => process.stdout.once('drain', resolve));
}

export function printError(text: string): void {
  process.stderr.write(`${text}\n`);
}
