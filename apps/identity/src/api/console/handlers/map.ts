import type { ConsoleHandlers } from '../context.ts'

export interface MapBackground {
  /** URL of a style or of tiles; empty: the outlines of the console. */
  readonly style: string
  /** Other origins that it needs. */
  readonly hosts: readonly string[]
}

/** Origins that the pages send requests to for the background of the map; empty without one. */
export const originsOf = ({ style, hosts }: MapBackground): string[] =>
  style === '' ? [] : [...new Set([new URL(style).origin, ...hosts])]

export const mapHandlers = ({ map }: { readonly map: MapBackground }) =>
  ({
    'map.background': () => ({ style: map.style, hosts: originsOf(map) }),
  }) satisfies ConsoleHandlers
