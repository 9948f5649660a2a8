/** An engine that accepts a connection and reads nothing from it. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../../tests/harness/processes.ts'
import { countedSource, opens } from '../../../../../../tests/harness/unread.ts'
import { findEngine } from './engine-api.ts'

it(
  'reads no more of an image than the engine does, and gives up',
  opens('apps/runtime/src/services/engines/oci/engine-api.ts'),
  async () => {
    const folder = await temporaryFolder()
    const path = join(folder.path, 'engine.sock')
    const server = createServer({ pauseOnConnect: true }).listen(path)
    await once(server, 'listening')
    const content = countedSource()
    await expect(findEngine(path).upload('/images/load', content, 300)).rejects.toMatchObject({
      reason: 'engine_unavailable',
    })
    expect(content.read).toBeGreaterThan(0)
    expect(content.read).toBeLessThan(4 * 1024 * 1024)
    server.close()
    await folder.remove()
  },
)
