// A pipeline is weighed component by component; the sum is what all of them take together.
import type { LoaderApplies, RamReport } from './ram_report';
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

/**
 * With every component in memory at once, loaded one after the other: what the others hold already adds to
 * the peak of the one that is loaded last, and the order that is worst for it is taken.
 */
export interface RamSum {
  per_dtype: RamReport['per_dtype'];
  /** only loaders that every component has a row for */
  loaders: Pick<LoaderApplies, 'loader' | 'title' | 'peak_bytes' | 'steady_bytes'>[];
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
    ram: { per_dtype: perDtype(reports), loaders: loaders(reports) },
  };
}

function perDtype(reports: readonly Report[]): RamReport['per_dtype'] {
  const rows = reports[0]?.ram.per_dtype ?? [];
  return rows.map(({ dtype }) => ({
    dtype,
    bytes: reports.reduce((sum, { ram }) => sum + (ram.per_dtype.find((row) => row.dtype === dtype)?.bytes ?? 0), 0),
  }));
}

function loaders(reports: readonly Report[]): RamSum['loaders'] {
  const rows = reports[0]?.ram.loaders ?? [];
  return rows.flatMap(({ loader, title }) => {
    const each = reports.map(({ ram }) => ram.loaders.find((row) => row.loader === loader));
    const all = each.filter((row) => row?.applies === true);
    if (all.length < reports.length) return [];
    const steady_bytes = all.reduce((sum, row) => sum + row.steady_bytes, 0);
    const peak_bytes = Math.max(...all.map((row) => row.peak_bytes + steady_bytes - row.steady_bytes));
    return [{ loader, title, peak_bytes, steady_bytes }];
  });
}
