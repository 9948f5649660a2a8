import type { Containers, Route } from '../containers/containers.ts'

export interface Match {
  readonly route: Route
  /** The part of the path that led here. */
  readonly prefix: string
  /** What the service gets: `/` where nothing is left. */
  readonly rest: string
}

export interface Routes {
  /** The route with the longest prefix of a path, whole segments only. */
  find(path: string): Match | undefined
  /** To be called when containers came or went. */
  refresh(): void
}

export function createRoutes(containers: Pick<Containers, 'routes'>): Routes {
  let table: Map<string, Route> | undefined
  const build = () =>
    new Map(containers.routes().flatMap((route) => route.prefixes.map((prefix) => [prefix, route] as const)))
  return {
    find(path) {
      table ??= build()
      for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
        const prefix = path.slice(0, end)
        const route = table.get(prefix)
        if (route) return { route, prefix, rest: path.slice(end) || '/' }
      }
      return undefined
    },
    refresh() {
      table = undefined
    },
  }
}
