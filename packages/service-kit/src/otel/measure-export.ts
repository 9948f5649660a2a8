import type { Metrics } from '../metrics/registry.ts'

/** @param dropped how many spans were dropped */
export const measureExport = ({ total }: Metrics, dropped: () => number): void =>
  total(
    'selvedge_otel_dropped_total',
    'Spans that the collector did not accept. Only with "otel.endpoint".',
    dropped,
  )
