/** Short messages that something was done. Errors are never toasts: they stand beside what failed. */
import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const shownMs = 6000
const told = 'selvedge:told'

export function tell(text: string): void {
  dispatchEvent(new CustomEvent(told, { detail: text }))
}

export function Toasts() {
  const [text, setText] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = (event: Event) => {
      setText((event as CustomEvent<string>).detail)
      clearTimeout(timer)
      timer = setTimeout(() => setText(''), shownMs)
    }
    addEventListener(told, show)
    return () => {
      removeEventListener(told, show)
      clearTimeout(timer)
    }
  }, [])
  return (
    <div class="toasts" role="status">
      {text && (
        <span class="toast">
          <Icon name="check" class="good-text" />
          {text}
        </span>
      )}
    </div>
  )
}
