import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, type DiscoveryClient } from '@selvedge/client'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createLink } from '../cloud/link.ts'
import { initialState, readState } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { createPublisher } from './publisher.ts'

it.each([0, -1])(
  'a discovery service that wants to hear of a node within %d ms hears of it once, not without end',
  async (reportWithin) => {
    const folder = mkdtempSync(join(tmpdir(), 'publisher-'))
    const state = await openDocument(join(folder, 'state'), { ...initialState, accountId: 'a' }, readState)
    let reports = 0
    const report = async () => {
      // Ends what would not end.
      if (++reports > 100) throw new ConnectionFailure('not_running', 'enough')
    }
    const time = createFakeClock()
    const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
    const publisher = createPublisher({
      client: { report } as unknown as DiscoveryClient,
      session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => reportWithin },
      state,
      clock,
      link: createLink(clock),
      log: { error: () => undefined } as never,
    })
    await publisher.restate()
    await publisher.stop()
    expect(reports).toBe(1)
    await state.close()
    rmSync(folder, { recursive: true })
  },
)
