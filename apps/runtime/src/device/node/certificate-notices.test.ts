import { createLog } from '@selvedge/service-kit/log'
import { expect, it } from 'vitest'
import { showCertificate } from './certificate-notices.ts'
import { createNotices } from './notices.ts'

const day = 86_400_000

it('shows a notice from 14 days before a certificate expires, until it is replaced', () => {
  const now = () => 1_800_000_000_000
  const log = createLog({ service: 'test', level: 'error', now }, () => undefined)
  const notices = createNotices({ now }, log)
  const reasonsFor = (daysLeft: number, problem?: Error) => {
    showCertificate(notices, { problem, expiresAt: now() + daysLeft * day }, now())
    return notices.list().map(({ reason }) => reason)
  }
  expect(reasonsFor(14.1)).toEqual([])
  expect(reasonsFor(13.9)).toEqual(['certificate_expires'])
  expect(reasonsFor(-1)).toEqual(['certificate_expires'])
  expect(reasonsFor(90)).toEqual([])
  expect(reasonsFor(90, new Error('the key does not match the certificate'))).toEqual([
    'certificate_unusable',
  ])
})
