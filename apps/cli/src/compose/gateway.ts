/** Which services are behind the gateway of the device, at which paths and ports. */
import { isHttpPort } from '@selvedge/protocol'
import { note, problem } from './at.ts'
import { shown } from './report.ts'
import { labels } from './service/data.ts'
import type { Draft } from './service/draft.ts'
import type { GatewayPath } from './service/finish.ts'

/** The port that the gateway leads to: named by the file, or the first that is usually HTTP. */
function portOf({ ports, exposed, gateway, gatewayPort }: Draft): number | undefined {
  if (gatewayPort) return gatewayPort.port
  const published = ports.filter(({ protocol }) => protocol === 'tcp')
  const http = published.find(({ isHttp }) => isHttp) ?? published.find(({ target }) => isHttpPort(target))
  if (http) return http.target
  return gateway ? (published[0]?.target ?? exposed[0]) : undefined
}

/**
 * A service is behind the gateway if it has the label, or publishes an HTTP port. Without the label, the first has the name of the app
 * as its path, and the others that of the app and their own.
 */
export function choosePaths(app: string, drafts: readonly Draft[]): ReadonlyMap<string, GatewayPath> {
  const chosen = new Map<string, GatewayPath>()
  const paths = new Map<string, string>()
  const choose = (draft: Draft, path: string, port: number | undefined, at: GatewayPath['at']) => {
    const other = paths.get(path)
    if (other !== undefined)
      return void problem(
        at,
        `The path ${shown(path)} is that of the service ${shown(other)}. Choose another one.`,
      )
    paths.set(path, draft.name)
    chosen.set(draft.name, { path, port, at })
  }
  for (const draft of drafts) {
    if (draft.networkMode?.mode === 'none' && draft.gateway?.path !== undefined)
      problem(draft.gateway.at, 'The service has no network. Remove the label or "network_mode".')
    else if (draft.gateway?.path !== undefined)
      choose(draft, draft.gateway.path, portOf(draft), draft.gateway.at)
  }
  for (const draft of drafts) {
    const port = draft.gateway || draft.networkMode ? undefined : portOf(draft)
    if (port === undefined) continue
    const own = draft.settings.get('MCM.BASE_API_PATH')?.value
    const path = own ?? (paths.has(`/${app}`) ? `/${app}-${draft.name}` : `/${app}`)
    const at = draft.ports.find(({ target }) => target === port)?.at ?? draft.gatewayPort?.at ?? draft.at
    choose(draft, path, port, at)
    note(
      at,
      `The gateway of the device leads to port ${port} at ${path}; no port of the device is opened for it. The label ${labels.basePath} changes the path.`,
    )
  }
  return chosen
}
