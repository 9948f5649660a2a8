import { isoTime } from '@selvedge/service-kit/clock'
import type { CertificateStatus } from '@selvedge/service-kit/http'
import type { Notices } from './notices.ts'

/** Milliseconds before its end from which a certificate has to be replaced. */
const noticeBeforeMs = 14 * 86_400_000

/** @param now Unix milliseconds */
export function showCertificate(
  notices: Notices,
  { problem, expiresAt }: CertificateStatus,
  now: number,
): void {
  if (problem) notices.raise('certificate_unusable', { cause: problem })
  else notices.clear('certificate_unusable')
  if (expiresAt - now < noticeBeforeMs)
    notices.raise('certificate_expires', { expiresAt: isoTime(expiresAt) })
  else notices.clear('certificate_expires')
}
