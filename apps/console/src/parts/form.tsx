import type { ComponentChildren } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { type ButtonKind, Refusal, useAction } from './action.tsx'
import { busyText } from './busy.ts'
import { Closing } from './dialog.tsx'

/** A form that is sent to the service. It shows that it waits, and shows errors. */
export function Form({
  send,
  submit,
  kind = 'primary',
  children,
}: {
  send: (values: FormData) => Promise<unknown>
  submit: string
  kind?: ButtonKind
  children?: ComponentChildren
}) {
  const { busy, error, act } = useAction()
  const closing = useContext(Closing)
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const values = new FormData(event.currentTarget as HTMLFormElement)
    void act(() => send(values))
  }
  return (
    <form class="stack close" onSubmit={onSubmit}>
      {children}
      {error && <Refusal text={error} />}
      <div class="submit">
        {closing && (
          <button type="button" class="btn" onClick={closing.onClose}>
            {closing.text}
          </button>
        )}
        <button type="submit" class={`btn ${kind}`} disabled={busy} aria-busy={busy}>
          {busy ? busyText(submit) : submit}
        </button>
      </div>
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

export function Field({ label, hint, value, maxLength, ...input }: InputProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {/* Text that a person typed remains when the view is rendered again. */}
      <input
        class="input"
        {...(input as object)}
        defaultValue={value}
        // As an attribute: Preact clears the property by '', which is 0, when a field without a limit replaces this one.
        maxlength={maxLength}
        id={id}
        {...(hint && { 'aria-describedby': `${id}-hint` })}
      />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

export function Select(props: {
  label: string
  name: string
  value?: string
  options: readonly (readonly [value: string, text: string])[]
}) {
  const { label, name, value, options } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} class="input">
        {options.map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}
