import { type ReactNode, useId } from 'react';

interface SectionProps {
  title: string;
  /** one line beside the title */
  says?: ReactNode;
  children?: ReactNode;
}

export function Section({ title, says, children }: SectionProps): ReactNode {
  const id = useId();
  return (
    <section className="section" aria-labelledby={id} data-view={title.toLowerCase()}>
      <header className="section-head">
        <h2 id={id}>{title}</h2>
        {says !== undefined && <p>{says}</p>}
      </header>
      {children}
    </section>
  );
}
