import { Notice } from '../../parts/view.tsx'
import { useHome } from '../../state/viewer.ts'

/** A person with one way to sign in, and no recovery codes, is locked out when that one is lost. */
export function LockOutNotice() {
  const { viewer } = useHome()
  const ways = viewer.passkeys + (viewer.hasPassword ? 1 : 0)
  if (ways > 1 || viewer.recoveryCodes > 0 || ways === 0) return null
  const only = viewer.passkeys === 1 ? 'one passkey' : 'a password'
  return (
    <Notice
      kind="warn"
      icon="life-buoy"
      title="You could lock yourself out"
      text={`You have ${only} and no recovery codes. Add a passkey or create codes below.`}
    />
  )
}
