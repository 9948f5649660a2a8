/** Messages of the simulator to the command line: counts, rates per second, milliseconds, bytes. */

export interface SimulationFigures {
  readonly sent: number
  readonly ok: number
  readonly errors: number
  /** What went wrong, how often. */
  readonly reasons: Readonly<Record<string, number>>
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface SimulationReport {
  readonly nodes: number
  readonly rate: number
  readonly seconds: number
  readonly seed: string
  /** The same for the same fleet: a digest of where its devices are. */
  readonly fleet: string
  readonly setup: { readonly seconds: number; readonly perSecond: number }
  readonly updates: SimulationFigures
  readonly queries: SimulationFigures
  /** Of the discovery service; null where it is not the simulator's to look at. */
  readonly memory: { readonly before: number; readonly after: number; readonly perNode: number } | null
}
