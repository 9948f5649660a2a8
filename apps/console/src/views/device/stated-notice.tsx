import { type Device, describeEndReason, describeNoticeReason, type Vitals } from '@selvedge/protocol/console'
import { capital } from '../../parts/capital.ts'
import { Notice } from '../../parts/view.tsx'

interface NoticeProps {
  readonly device: Device
  readonly vitals: Vitals
}

/** The one thing that needs attention most: a service that is not started again, otherwise the newest notice of the device. */
export default function StatedNotice({ device: { services }, vitals }: NoticeProps) {
  const failed = services.find(({ state }) => state === 'failed')
  if (failed) {
    const { lastEnd = '' } = vitals.services.find(({ id }) => id === failed.id) ?? {}
    const reason = describeEndReason(lastEnd)
    return (
      <Notice
        kind="bad"
        icon="triangle-alert"
        title={`${failed.name} failed, and is not started again`}
        text={`${reason && `${capital(reason)}. `}On the device: selvedge why ${failed.name}`}
      />
    )
  }
  const [newest] = vitals.notices.toSorted((one, other) => (one.time < other.time ? 1 : -1))
  if (!newest) return null
  const more = vitals.notices.length - 1
  return (
    <Notice
      kind="warn"
      icon="triangle-alert"
      title={`The device reports: ${newest.reason.replaceAll('_', ' ')}`}
      text={`${describeNoticeReason(newest.reason)}${more > 0 ? ` And ${more} more: selvedge status` : ''}`}
    />
  )
}
