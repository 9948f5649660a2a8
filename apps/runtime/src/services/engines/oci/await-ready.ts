/** Waits until a container is ready: `MCM.READY`. */
import type { ContainerSettings } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import type { TcpUpstream } from '../engine.ts'
import { waitUntilHealthy } from '../wait-until-healthy.ts'
import { awaitPort } from './await-port.ts'
import type { OciInstance } from './instance.ts'

/** @returns what is missing after `MCM.HEALTH_SEC`, or how it exited; undefined if it is ready */
export async function awaitReady(
  { upstream, ended, said, readiness: { ready, ports, portInWords } }: OciInstance,
  { 'MCM.HEALTH_SEC': seconds }: ContainerSettings,
): Promise<string | undefined> {
  if (ready === 'none') return undefined
  if (!ready.startsWith('log:')) {
    const main = upstream as TcpUpstream
    const upstreams = main.localAddress === undefined ? [main] : ports.map((port) => ({ ...main, port }))
    return awaitPort(upstreams, portInWords, seconds, ended)
  }
  let hasSaid = false
  inBackground(
    'oci.ready',
    said.then(() => {
      hasSaid = true
    }),
  )
  const missing = `it did not write a line with ${JSON.stringify(ready.slice('log:'.length))} (MCM.READY)`
  return waitUntilHealthy(async () => (hasSaid ? undefined : missing), { seconds, pauseMs: 20, gone: ended })
}
