// A pipeline is weighed component by component; the sum is what all of them take together.
import type { RamReport } from './ram_report';
import type { Report } from './report';

export interface ComponentReport {
  /** of the choice that was opened */
  id: string;
  title: string;
  report: Report;
}

export interface PipelineSum {
  parameters: number;
  stored_elements: number;
  tensor_count: number;
  files: number;
  file_bytes: number;
  data_bytes: number;
  bf16_data_bytes: number;
  ram: RamSum;
}

/** Weights only: what loading them together costs is the core's to say (Core.ram). */
export interface RamSum {
  per_dtype: RamReport['per_dtype'];
}

export function sumOf(components: readonly ComponentReport[]): PipelineSum {
  const reports = components.map(({ report }) => report);
  const total = (of: (report: Report) => number): number => reports.reduce((sum, report) => sum + of(report), 0);
  return {
    parameters: total((report) => report.parameters),
    stored_elements: total((report) => report.stored_elements),
    tensor_count: total((report) => report.tensor_count),
    files: total((report) => report.sources.length),
    file_bytes: total((report) => report.file_bytes),
    data_bytes: total((report) => report.data_bytes),
    bf16_data_bytes: total((report) => report.bf16_data_bytes),
    ram: { per_dtype: perDtype(reports) },
  };
}

function perDtype(reports: readonly Report[]): RamReport['per_dtype'] {
  const rows = reports[0]?.ram.per_dtype ?? [];
  return rows.map(({ dtype }) => ({
    dtype,
    bytes: reports.reduce((sum, { ram }) => sum + (ram.per_dtype.find((row) => row.dtype === dtype)?.bytes ?? 0), 0),
  }));
}
