/** What fails while it is drawn stays a part of the page, not the end of it. */
import { Component, type ReactNode } from 'react'

export type ErrorBoundaryProps = {
  /** What is drawn instead. */
  readonly instead: (error: unknown) => ReactNode
  readonly children: ReactNode
}

export class ErrorBoundary extends Component<
  ErrorBoundaryProps,
  { readonly failure: { readonly error: unknown } | null }
> {
  override state: { readonly failure: { readonly error: unknown } | null } = { failure: null }

  static getDerivedStateFromError(error: unknown): { readonly failure: { readonly error: unknown } } {
    return { failure: { error } }
  }

  override render(): ReactNode {
    const { failure } = this.state
    return failure === null ? this.props.children : this.props.instead(failure.error)
  }
}
