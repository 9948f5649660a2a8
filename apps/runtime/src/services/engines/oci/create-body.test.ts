import { readSettings } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { memoryFoldersOf } from './create-body.ts'

const folders = (env: Record<string, string>) =>
  Object.entries(memoryFoldersOf(readSettings(env))).map(
    ([path, options]) => `${path} ${Number(/size=(\d+)/.exec(options)![1]) / 2 ** 20}`,
  )

it.each([
  [{}, []],
  [{ 'MCM.TMPFS': '/cache:8' }, ['/cache 8']],
  [{ 'MCM.TMPFS': '/var/run' }, ['/run 64']],
  [{ 'MCM.TMPFS': '/var/run,/var/running' }, ['/run 64', '/var/running 64']],
  [{ 'MCM.TMPFS': '/var/run/app' }, ['/var/run/app 64']],
  [{ 'MCM.ROOT': 'read-only' }, ['/run 64', '/tmp 64', '/var/tmp 64']],
  [{ 'MCM.ROOT': 'read-only', 'MCM.TMPFS': '/var/run:16' }, ['/run 16', '/tmp 64', '/var/tmp 64']],
])('nothing is mounted at /var/run, which is a link in images: %j', (env, expected) => {
  expect(folders(env)).toEqual(expected)
})
