// The examples that `make examples` puts beside the page. A page without them just does not offer any.

export interface Example {
  file: string;
  side_files: string[];
  title: string;
  says: string;
  size_bytes: number;
}

const FOLDER = './examples/';

export async function listExamples(): Promise<Example[]> {
  const response = await fetch(`${FOLDER}index.json`);
  // a development server answers a missing file with the page itself
  if (!response.ok || !response.headers.get('content-type')?.includes('json')) return [];
  const found: unknown = await response.json();
  return Array.isArray(found) ? found.filter(isExample) : [];
}

export function fetchExample(example: Example): Promise<File[]> {
  return Promise.all([example.file, ...example.side_files].map(fetchFile));
}

async function fetchFile(path: string): Promise<File> {
  const response = await fetch(FOLDER + path);
  if (!response.ok) throw new Error(`${path}: the server answered ${response.status}`);
  return new File([await response.blob()], path.slice(path.lastIndexOf('/') + 1));
}

function isExample(value: unknown): value is Example {
  const row = value as Partial<Example> | null;
  return (
    typeof row?.file === 'string' &&
    typeof row.title === 'string' &&
    typeof row.says === 'string' &&
    typeof row.size_bytes === 'number' &&
    Array.isArray(row.side_files)
  );
}
