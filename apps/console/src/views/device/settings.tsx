import type { Device } from '@selvedge/protocol/console'
import { DangerZone } from './danger-zone.tsx'
import { General } from './general.tsx'

interface SettingsProps {
  readonly device: Device
  readonly onChanged: () => Promise<void>
}

export default function Settings(props: SettingsProps) {
  return (
    <>
      <General {...props} />
      <DangerZone {...props} />
    </>
  )
}
