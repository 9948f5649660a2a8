import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Terminal } from '../output/terminal.ts'
import { createContext } from './context.ts'

it('a connection for streams has the next token once it was renewed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-streams-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = { HOME: folder, XDG_CONFIG_HOME: folder, SELVEDGE_RUNTIME_URL: 'http://127.0.0.1:9' }
  const context = createContext({}, env, { note: () => undefined } as unknown as Terminal)
  const connection = await context.streams('first', async () => 'second')
  expect(connection).toMatchObject({ url: 'http://127.0.0.1:9', edgeAccessToken: 'first' })
  await connection.renew!()
  expect(connection.edgeAccessToken).toBe('second')
  expect((await context.streams('only')).renew).toBeUndefined()
})
