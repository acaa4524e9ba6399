import type { ReactNode } from 'react';

/** Names and what they are, in two columns. */
export function Facts({ children, testId }: { children: ReactNode; testId?: string }): ReactNode {
  return (
    <dl className="facts" data-testid={testId}>
      {children}
    </dl>
  );
}

export function Fact({ name, children }: { name: ReactNode; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
