import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { explain } from '../api.ts'
import { useConfirmed } from '../state/step-up.tsx'

/** A form that is sent to the service. It shows that it waits, and shows errors. */
export function Form({
  send,
  submit,
  kind = 'primary',
  children,
}: {
  send: (values: FormData) => Promise<unknown>
  submit: string
  kind?: '' | 'primary' | 'danger'
  children: ComponentChildren
}) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const confirmed = useConfirmed()
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget as HTMLFormElement)
    setBusy(true)
    setError(undefined)
    try {
      await confirmed(() => send(values))
    } catch (cause) {
      setError(explain(cause))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={onSubmit}>
      {children}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <button type="submit" class={kind} disabled={busy}>
        {busy ? 'Please wait …' : submit}
      </button>
    </form>
  )
}

type InputProps = {
  label: string
  name: string
  hint?: string
  type?: string
  value?: string | number
  required?: boolean
  autocomplete?: string
  min?: number
  max?: number
  maxLength?: number
  placeholder?: string
  spellcheck?: boolean
  autocapitalize?: 'characters'
}

export function Field({ label, hint, value, ...input }: InputProps) {
  const id = useId()
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {/* Text that a person typed remains when the view is rendered again. */}
      <input
        {...(input as object)}
        defaultValue={value}
        id={id}
        {...(hint && { 'aria-describedby': `${id}-hint` })}
      />
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </p>
  )
}
