import type { ReactNode } from 'react';
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components';

interface FoldProps {
  title: ReactNode;
  level?: 3 | 4;
  open?: boolean;
  children: ReactNode;
}

/** Something to look at on demand, in its place; there are no modals here. */
export function Fold({ title, level = 3, open = false, children }: FoldProps): ReactNode {
  return (
    <Disclosure className="fold" defaultExpanded={open}>
      <Heading level={level}>
        <Button slot="trigger" className="fold-button">
          <span className="fold-mark" aria-hidden="true" />
          {title}
        </Button>
      </Heading>
      <DisclosurePanel className="fold-panel">{children}</DisclosurePanel>
    </Disclosure>
  );
}
