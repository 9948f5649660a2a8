import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { HostServices } from '../../apps/runtime/src/services/engines/engine.ts'

/** What an instance gets from the runtime, in a test of an engine: nothing is stored, and its socket answers nothing. */
export const idleHost: HostServices = {
  openStorage: async () => ({
    follow: async () => undefined,
    takeOver: async () => undefined,
    write: async () => undefined,
    close: () => undefined,
  }),
  identityToken: () => ({ token: 't', expiresAt: '' }),
  serve: async (path) => {
    rmSync(path, { force: true })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    return { close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
  },
}
