import { methods } from '@selvedge/protocol'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createNotices } from './notices.ts'
import { showStalled } from './stalled-notice.ts'

const readNotices = methods.getMe.result.shape.notices

it('the notice names what answers nothing, as long as it does, within the bounds of its schema', () => {
  const log = createMemoryLog()
  const notices = createNotices(createFakeClock(), log)
  let setStalled: (names: readonly string[]) => void
  showStalled({ onStalled: (listener) => void (setStalled = listener) }, notices)
  expect(notices.list()).toEqual([])

  setStalled!(['getMe'])
  const [first] = notices.list()
  expect(first).toMatchObject({ reason: 'requests_stalled', names: ['getMe'] })
  expect(log.lines.filter((line) => line.includes(first!.errorId))).toHaveLength(1)

  const many = Array.from({ length: 50 }, (_, at) => `/${at}/${'x'.repeat(300)}`)
  setStalled!(many)
  const [next, ...others] = readNotices.parse(notices.list())
  expect(others).toEqual([])
  expect(next!.names).toEqual(many.slice(0, 8).map((name) => name.slice(0, 64)))

  setStalled!([])
  expect(notices.list()).toEqual([])
})
