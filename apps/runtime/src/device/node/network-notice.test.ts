import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createNetworkNotice } from './network-notice.ts'
import { createNotices } from './notices.ts'

it('the notice is there while something about the network cannot be used, with its cause in the log', () => {
  const log = createMemoryLog()
  const notices = createNotices(createFakeClock(), log)
  let problem: string | undefined
  const show = createNetworkNotice({ status: () => ({ proxy: 'http://proxy.example', problem }) }, notices)
  show()
  expect(notices.list()).toEqual([])
  problem = 'the proxy http://proxy.example needs a password'
  show()
  show()
  expect(notices.list()).toMatchObject([{ reason: 'network_unusable' }])
  expect(log.lines.filter((line) => line.includes(problem!))).toHaveLength(1)
  problem = undefined
  show()
  expect(notices.list()).toEqual([])
})
