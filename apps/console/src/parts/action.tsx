import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../failures.ts'
import { useConfirmed } from '../state/step-up.tsx'
import { busyText } from './busy.ts'
import { Icon, type IconName } from './icon.tsx'

export type ButtonKind = '' | 'primary' | 'danger' | 'danger solid' | 'quiet'

/** Runs something that may ask for a fresh sign-in, and keeps whether it runs and how it failed. */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const confirmed = useConfirmed()
  const act = async (run: () => Promise<unknown>) => {
    setBusy(true)
    setError(undefined)
    try {
      await confirmed(run)
    } catch (cause) {
      setError(await explain(cause))
    } finally {
      setBusy(false)
    }
  }
  return { busy, error, act }
}

/** A button that calls the service. It shows that it waits, and shows an error next to itself. */
export function Action(props: {
  run: () => Promise<unknown>
  kind?: ButtonKind
  icon?: IconName
  disabled?: boolean
  /** Accessible name, if the text of the button does not name what it acts on. */
  label?: string
  children: ComponentChildren
}) {
  const { run, kind = '', icon, disabled = false, label, children } = props
  const { busy, error, act } = useAction()
  return (
    <span class="action">
      <button
        type="button"
        class={`btn ${kind}`}
        disabled={busy || disabled}
        aria-busy={busy}
        aria-label={label}
        onClick={() => act(run)}
      >
        {icon && !busy && <Icon name={icon} />}
        {busy && typeof children === 'string' ? busyText(children) : children}
      </button>
      {error && <Refusal text={error} />}
    </span>
  )
}

export function Refusal({ text }: { text: string }) {
  return (
    <span class="error" role="alert">
      <Icon name="triangle-alert" />
      {text}
    </span>
  )
}
