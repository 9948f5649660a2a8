import type { Containers } from '../containers/containers.ts'
import type { Route } from '../containers/views.ts'

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
  /** Sets the containers of the routes: without this call there are no routes. */
  follow(containers: Pick<Containers, 'routes'>): void
  /** To be called when containers came or went. A change of the account is noticed without it. */
  refresh(): void
}

interface Table {
  /** The associated account: services of another one are not found. */
  readonly accountId: string
  readonly routes: ReadonlyMap<string, Route>
  /** Lengths of all prefixes: only parts of a path that are as long as one of them are looked up. */
  readonly lengths: ReadonlySet<number>
  readonly longest: number
}

/** @param accountId gives the associated account */
export function createRoutes(accountId: () => string): Routes {
  let containers: Pick<Containers, 'routes'> = { routes: () => [] }
  let table: Table | undefined
  const build = (): Table => {
    const routes = new Map(
      containers.routes().flatMap((route) => route.prefixes.map((prefix) => [prefix, route] as const)),
    )
    const lengths = new Set([...routes.keys()].map(({ length }) => length))
    return { accountId: accountId(), routes, lengths, longest: Math.max(0, ...lengths) }
  }
  return {
    find(path) {
      if (table?.accountId !== accountId()) table = build()
      const { routes, lengths, longest } = table
      let end = path.length <= longest ? path.length : path.lastIndexOf('/', longest)
      for (; end > 0; end = path.lastIndexOf('/', end - 1)) {
        if (!lengths.has(end)) continue
        const prefix = path.slice(0, end)
        const route = routes.get(prefix)
        if (route) return { route, prefix, rest: path.slice(end) || '/' }
      }
      return undefined
    },
    follow(given) {
      containers = given
      table = undefined
    },
    refresh() {
      table = undefined
    },
  }
}
