import { FIRST_PAGE } from '../../support/docs/pages.ts';
import { testPage } from './page.ts';

testPage(FIRST_PAGE);
