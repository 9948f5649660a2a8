import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../api.ts'
import { useConfirmed } from '../state/step-up.tsx'

/** A button that calls the service. It shows that it waits, and shows an error next to itself. */
export function Action({
  run,
  kind = '',
  question,
  label,
  children,
}: {
  run: () => Promise<unknown>
  kind?: '' | 'primary' | 'danger' | 'quiet'
  /** Question to confirm the action. */
  question?: string
  /** Accessible name, if the text of the button does not name what it acts on. */
  label?: string
  children: ComponentChildren
}) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const confirmed = useConfirmed()
  const act = async () => {
    if (question && !confirm(question)) return
    setBusy(true)
    setError(undefined)
    try {
      await confirmed(run)
    } catch (cause) {
      setError(explain(cause))
    } finally {
      setBusy(false)
    }
  }
  return (
    <span class="action">
      <button type="button" class={kind} disabled={busy} aria-label={label} onClick={act}>
        {children}
      </button>
      {error && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
    </span>
  )
}
